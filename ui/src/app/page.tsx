// What a page tells the frame: its title, where it is, the calls it makes; and the
// messages that outlive a page.
import type {BreadcrumbGroupProps} from '@cloudscape-design/components/breadcrumb-group';
import type {FlashbarProps} from '@cloudscape-design/components/flashbar';
import {createContext, useContext, useEffect} from 'react';
import type {Reading} from '../pure/call';

export interface PageInfo { title: string; crumbs?: BreadcrumbGroupProps.Item[]; readings?: Reading[] }

export interface Frame {
	setPage: (page: PageInfo) => void;
	flash: (message: Omit<FlashbarProps.MessageDefinition, 'id' | 'onDismiss'>) => void;
	showCalls: () => void;
}

export const FrameContext = createContext<Frame | null>(null);

export function useFrame(): Frame
{
	const frame = useContext(FrameContext);

	if (!frame)
		throw new Error('no frame');
	return frame;
}

export function usePage(page: PageInfo)
{
	const {setPage} = useFrame();
	const key = JSON.stringify(page);

	useEffect(() => {
		setPage(JSON.parse(key) as PageInfo);
		document.title = `${page.title} – InstantStart`;
	}, [key, setPage, page.title]);
}
