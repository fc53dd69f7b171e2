import {en} from './en';
import type {Catalog} from './text';

export const tr: Catalog = en;
