// Key and value pairs of a form: labels; and taints, which have an effect, too.
import AttributeEditor from '@cloudscape-design/components/attribute-editor';
import Input from '@cloudscape-design/components/input';
import Select from '@cloudscape-design/components/select';
import {useState} from 'react';
import {useWords} from '../i18n';
import {Field, type AnyForm} from './form';

interface Pair { key: string; value: string }
interface Taint extends Pair { effect: string }

const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

export function Labels({form, pointer, label}: {form: AnyForm; pointer: string; label: string})
{
	const {t} = useWords();
	/* Rows without a key are on the screen only. */
	const [rows, setRows] = useState<Pair[]>(() => Object.entries((form.get(pointer) ?? {}) as Record<string, string>)
		.map(([key, value]) => ({key, value})));
	const put = (next: Pair[]) => {
		const filled = next.filter(r => r.key);

		setRows(next);
		form.set(pointer, filled.length ? Object.fromEntries(filled.map(r => [r.key, r.value])) : undefined);
	};
	const change = (i: number, part: Partial<Pair>) => put(rows.map((r, n) => n === i ? {...r, ...part} : r));

	return <Field form={form} pointer={pointer} label={label}>
		<AttributeEditor<Pair> items={rows} empty={t('common.none')} addButtonText={t('pairs.add')} removeButtonText={t('pairs.remove')}
			onAddButtonClick={() => put([...rows, {key: '', value: ''}])} onRemoveButtonClick={e => put(rows.filter((_, n) => n !== e.detail.itemIndex))}
			definition={[
				{label: t('pairs.key'), control: (r, i) => <Input value={r.key} ariaLabel={t('pairs.key')} onChange={e => change(i, {key: e.detail.value})}/>},
				{label: t('pairs.value'), control: (r, i) => <Input value={r.value} ariaLabel={t('pairs.value')} onChange={e => change(i, {value: e.detail.value})}/>},
			]}/>
	</Field>;
}

export function Taints({form, pointer, label}: {form: AnyForm; pointer: string; label: string})
{
	const {t} = useWords();
	const rows = (form.get(pointer) ?? []) as Taint[];
	const options = EFFECTS.map(value => ({value, label: value}));
	const put = (next: Taint[]) => form.set(pointer, next.length ? next : undefined);
	const change = (i: number, part: Partial<Taint>) => put(rows.map((r, n) => n === i ? {...r, ...part} : r));

	return <Field form={form} pointer={pointer} label={label}>
		<AttributeEditor<Taint> items={rows} empty={t('common.none')} addButtonText={t('pairs.add')} removeButtonText={t('pairs.remove')}
			onAddButtonClick={() => put([...rows, {key: '', value: '', effect: 'NoSchedule'}])}
			onRemoveButtonClick={e => put(rows.filter((_, n) => n !== e.detail.itemIndex))}
			definition={[
				{label: t('pairs.key'), control: (r, i) => <Input value={r.key} ariaLabel={t('pairs.key')} onChange={e => change(i, {key: e.detail.value})}/>},
				{label: t('pairs.value'), control: (r, i) => <Input value={r.value} ariaLabel={t('pairs.value')} onChange={e => change(i, {value: e.detail.value})}/>},
				{label: t('pairs.effect'), control: (r, i) => <Select options={options} selectedOption={options.find(o => o.value === r.effect) ?? null}
					ariaLabel={t('pairs.effect')} onChange={e => change(i, {effect: e.detail.selectedOption.value ?? 'NoSchedule'})}/>},
			]}/>
	</Field>;
}
