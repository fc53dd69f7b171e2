// Frames of the live channel (README.md has them) and when to come back to it.

export interface Frame { t: string; [member: string]: unknown }

export function frameOf(text: string): Frame | null
{
	try {
		const value: unknown = JSON.parse(text);

		return value && typeof value === 'object' && typeof (value as Frame).t === 'string' ? value as Frame : null;
	} catch {
		return null;
	}
}

/** Something between the last one and this one has not come. */
export const missed = (last: number, seq: number) => last > 0 && seq > last + 1;

/** 0.5 s to 30 s, half of it by chance, so that not all come back at once. */
export function backoffMs(failures: number, random: () => number = Math.random): number
{
	const full = Math.min(500 * 2 ** Math.max(0, failures - 1), 30000);

	return full / 2 + full / 2 * random();
}
