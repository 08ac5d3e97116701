// A field that finds a group.

import { get } from '../api.js';
import { picker } from './picker.js';

/** @import { Schema } from '../types.d.ts' */

/**
 * A field with this name that finds a group.
 * @template {string} Name
 * @param {Name} name
 */
export const groupPicker = (name) =>
  picker(name, 'Group', {
    hint: 'The first letters of its name.',
    load: (q) => get('/groups', { q, limit: 8 }),
    label: (/** @type {Schema<'Group'>} */ one) => one.name,
  });
