// What a field is for. English is what the server's schemas say; the other languages
// have these.
import type {bodies} from '../api/generated/bodies';
import type {Language} from '.';

type Bodies = typeof bodies;
type PointerOf<C extends keyof Bodies> = Bodies[C] extends {properties: infer P} ? keyof P & string : never;
type Of<C extends keyof Bodies> = `${C}/${PointerOf<C>}`;

export type HelpKey =
	| Extract<Of<'create_cluster'>, `create_cluster/${'name' | 'zone' | 'instance_type' | 'count' | 'capacity_type' | 'training_plan_arn'
		| 'deep_health_checks' | 'volume_size_gb' | 'kubernetes_version' | 'group_name' | 'execution_role_arn' | 'permissions_boundary'
		| 'lifecycle_s3_uri' | 'lifecycle_on_create'}`>
	| 'create_cluster/storage/bucket' | 'create_cluster/storage/prefix'
	| Of<'import_cluster'>
	| Extract<Of<'create_s3_storage'>, `create_s3_storage/${'bucket' | 'prefix' | 'name' | 'namespace' | 'read_only'}`>
	| Of<'create_token'>;
export type Help = Record<HelpKey, string>;

const known: Partial<Record<Language, Help>> = {};

export function provideHelp(language: Language, help: Help)
{
	known[language] = help;
}

export const helpOf = (language: Language, key: HelpKey): string | undefined => known[language]?.[key];
