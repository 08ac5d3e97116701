// The notice of an object that a manifest manages.

import { t } from '../language.js';
import { notice } from '../view.js';

/** @import { Schema } from '../types.d.ts' */

/**
 * Names the manifest that manages an object. Empty if there is none.
 * @param {Schema<'Management'> | undefined} management
 */
export function managementNotice(management) {
  if (!management) return undefined;
  const { owner, key } = management;
  return notice(
    t`A manifest of ${owner} manages this, as ${key}. Applying the manifest again replaces changes that you make here.`,
    'calm',
  );
}
