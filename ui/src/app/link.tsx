// Links of Cloudscape that stay in the console.
import Link, {type LinkProps} from '@cloudscape-design/components/link';
import {navigate} from 'wouter/use-browser-location';

type Follow = CustomEvent<{href?: string; external?: boolean}>;

/** For onFollow of anything that has a link in it. */
export function follow(e: Follow)
{
	const {href, external} = e.detail;

	if (!href || external || !href.startsWith('/') || href.startsWith('/api/'))
		return;
	e.preventDefault();
	navigate(href);
}

export function To(props: LinkProps)
{
	return <Link {...props} onFollow={follow as LinkProps['onFollow']}/>;
}

export {navigate};
