import {en} from './en';
import type {Catalog} from './text';

export const ro: Catalog = en;
