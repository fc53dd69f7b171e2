// Who is here decides: the console, or the page to sign in.
import {useQuery} from '@tanstack/react-query';
import {lazy, Suspense, useEffect} from 'react';
import {useLocation} from 'wouter';
import {onSignedOut, ProblemError} from '../api/client';
import {me, queryClient} from '../api/queries';
import {navigate} from './link';

const Shell = lazy(() => import('./shell'));
const SignIn = lazy(() => import('../pages/sign-in'));

/** Where to come back to; only a path of ours. */
export const nextOf = (search: string) => {
	const next = new URLSearchParams(search).get('next') ?? '/';

	return /^\/(?![/\\])/.test(next) ? next : '/';
};

/* The one place where a lost session is noticed. */
onSignedOut(() => {
	const here = location.pathname + location.search;

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
		if (refused && !signingIn)
			navigate('/sign-in', {replace: true});
	}, [refused, signingIn]);
	return <Suspense fallback={null}>
		{signingIn ? <SignIn/> : who.data ? <Shell me={who.data}/> : who.error && !refused ? <SignIn error={who.error}/> : null}
	</Suspense>;
}
