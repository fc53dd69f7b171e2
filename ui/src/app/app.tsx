// Who is here decides: the console, or the page to sign in.
import {useQuery} from '@tanstack/react-query';
import {lazy, Suspense, useEffect} from 'react';
import {useLocation} from 'wouter';
import {onSignedOut, ProblemError} from '../api/client';
import {me, queryClient} from '../api/queries';
import SignIn from '../pages/sign-in';
import {navigate} from './link';
import {loadShell, SIGNED_IN} from './start';

const Shell = lazy(loadShell);

/* The one place where a lost session is noticed. */
onSignedOut(() => {
	const here = location.pathname + location.search;

	localStorage.removeItem(SIGNED_IN);
	if (location.pathname === '/sign-in')
		return;
	queryClient.clear();
	navigate(`/sign-in${here === '/' ? '' : `?expired=1&next=${encodeURIComponent(here)}`}`, {replace: true});
});

export function App()
{
	const [path] = useLocation();
	const signingIn = path === '/sign-in';
	const who = useQuery({...me, enabled: !signingIn});
	const refused = who.error instanceof ProblemError && who.error.problem.status === 401;

	useEffect(() => {
		if (who.data)
			localStorage.setItem(SIGNED_IN, '1');
	}, [who.data]);
	useEffect(() => {
		if (refused && !signingIn)
			navigate('/sign-in', {replace: true});
	}, [refused, signingIn]);
	return <Suspense fallback={null}>
		{signingIn ? <SignIn/> : who.data ? <Shell me={who.data}/> : who.error && !refused ? <SignIn error={who.error}/> : null}
	</Suspense>;
}
