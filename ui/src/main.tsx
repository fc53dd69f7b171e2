import '@cloudscape-design/global-styles/index.css';
import {QueryClientProvider} from '@tanstack/react-query';
import {StrictMode} from 'react';
import {createRoot} from 'react-dom/client';
import {queryClient} from './api/queries';
import {App} from './app/app';
import {currentPrefs, timeZoneOf, usePrefs} from './app/prefs';
import {hurry} from './app/start';
import {loadLanguage, Words} from './i18n';

/* The server has another build than this page: its chunks have other names. Once a
 * minute at most, so that a chunk that is really missing ends in words. */
addEventListener('vite:preloadError', e => {
	const last = Number(sessionStorage.getItem('instantstart.reloaded') ?? 0);

	if (Date.now() - last < 60000)
		return;
	e.preventDefault();
	sessionStorage.setItem('instantstart.reloaded', String(Date.now()));
	location.reload();
});

function Root()
{
	const prefs = usePrefs();

	return <Words language={prefs.language} timeZone={timeZoneOf(prefs)}>
		<App/>
	</Words>;
}

void loadLanguage(currentPrefs().language);
hurry();
createRoot(document.getElementById('root')!).render(<StrictMode>
	<QueryClientProvider client={queryClient}>
		<Root/>
	</QueryClientProvider>
</StrictMode>);
