// What is loaded when: the first page must not wait for one thing after another.
import {me, queryClient} from '../api/queries';
import {preload} from './routes';

export const loadShell = () => import('./shell');

/** Where to come back to; only a path of ours. */
export const nextOf = (search: string) => {
	const next = new URLSearchParams(search).get('next') ?? '/';

	return /^\/(?![/\\])/.test(next) ? next : '/';
};

/** Kept by whoever was let in. */
export const SIGNED_IN = 'instantstart.signed-in';

/* The session itself cannot be seen from here. Whoever was signed in last time
 * probably is, and so is who comes by a sign-in link, which redirects. */
const probablySignedIn = () => localStorage.getItem(SIGNED_IN) !== null ||
	(performance.getEntriesByType('navigation')[0] as PerformanceNavigationTiming | undefined)?.redirectCount! > 0;

/** Everything that the console shows first, once the page to sign in stands. */
export function loadConsole(path: string, signedIn = false)
{
	void loadShell().catch(() => {});
	preload(path, signedIn);
}

/** What the first page needs is asked for at once, not one thing after another. */
export function hurry()
{
	const {pathname} = location;

	if (pathname === '/sign-in')
		return;
	void queryClient.prefetchQuery(me);
	if (probablySignedIn())
		loadConsole(pathname, true);
}
