import '@cloudscape-design/global-styles/index.css';
import {QueryClientProvider} from '@tanstack/react-query';
import {StrictMode} from 'react';
import {createRoot} from 'react-dom/client';
import {queryClient} from './api/queries';
import {App} from './app/app';
import {timeZoneOf, usePrefs} from './app/prefs';
import {Words} from './i18n';

function Root()
{
	const prefs = usePrefs();

	return <Words language={prefs.language} timeZone={timeZoneOf(prefs)}>
		<App/>
	</Words>;
}

createRoot(document.getElementById('root')!).render(<StrictMode>
	<QueryClientProvider client={queryClient}>
		<Root/>
	</QueryClientProvider>
</StrictMode>);
