// Types of authorization details, whose texts users approve on their devices.

import { get, put, remove } from '../api.js';
import { area, form, group, jsonText, text } from '../form.js';
import { t } from '../language.js';
import { pages, table } from '../lists.js';
import { ask, button, code, el, link, moment, nothing, say, screen, way } from '../view.js';

/** @import { Column, Context, Schema } from '../types.d.ts' */

const LIST = '/admin/applications/authorization-details-types';

const NONE = 'There are no types of authorization details.';

const EXAMPLE = {
  type: 'object',
  properties: {
    amount: { type: 'string', maxLength: 12 },
    currency: { type: 'string', maxLength: 3 },
    creditor: { type: 'string', maxLength: 70 },
  },
  required: ['amount', 'currency', 'creditor'],
};

/**
 * @param {string} type
 */
const editorOf = (type) => `${LIST}/edit?${new URLSearchParams({ type })}`;

/**
 * @param {Schema<'AuthorizationDetailsType'>} row
 * @param {Context['reload']} reload
 */
async function deleteType({ type }, reload) {
  if (
    !(await ask(
      t`Delete the type ${type}?`,
      'New requests with it are rejected. Tokens keep what users granted.',
      'Delete',
    ))
  )
    return;
  await remove('/authorization-details-types/{name}', { name: type });
  await reload();
  say('The type was deleted.');
}

/**
 * The list of the types.
 * @param {Context} context
 */
export async function detailsTypes({ may, reload }) {
  const writes = may('applications:write');
  /** @type {Array<Column<Schema<'AuthorizationDetailsType'>>>} */
  const columns = [
    { label: 'Type', cell: (row) => (writes ? link(editorOf(row.type), code(row.type)) : code(row.type)) },
    { label: 'Text in English', cell: (row) => el('bdi', {}, row.templates.en) },
    { label: 'Text in German', cell: (row) => el('bdi', {}, row.templates.de) },
    { label: 'Changed', cell: (row) => moment(row.updated_at) },
    ...(writes
      ? [
          {
            label: 'Actions',
            cell: (/** @type {Schema<'AuthorizationDetailsType'>} */ row) =>
              el(
                'div',
                { class: 'ways' },
                button('Delete', () => deleteType(row, reload), 'danger'),
              ),
          },
        ]
      : []),
  ];
  const list = await pages(
    (after) => get('/authorization-details-types', { after }),
    table(columns, [], {
      empty: writes ? nothing(NONE, `${LIST}/new`, 'Register a type') : NONE,
      caption: 'Types of authorization details',
    }),
  );
  return screen(
    {
      title: 'Types of authorization details',
      lead: 'What applications may ask users to permit, such as one payment. The device shows and signs the text.',
      back: ['/admin/applications', 'Applications'],
      actions: [writes && way(`${LIST}/new`, 'Register a type', 'primary')],
    },
    list,
  );
}

/** The fields of the content. */
const content = () => [
  group(
    'Texts',
    'Write each member of the schema in braces, once in each text: Pay {amount} {currency} to {creditor.name}',
    area('en', 'Text in English', { needed: 'Enter a text.', rows: 2 }),
    area('de', 'Text in German', { needed: 'Enter a text.', rows: 2 }),
  ),
  group(
    'Schema',
    'A part of JSON Schema. Each string needs maxLength or enum, and each array maxItems, because no value is cut.',
    jsonText('schema', 'Schema', { rows: 16 }),
  ),
  group(
    'Second approval',
    'Only requests without a browser (CIBA) can have it. The application may name a group for all of its requests.',
    text('second', 'Group of those who approve, too', {
      mono: true,
      hint:
        'The id of a group, which the address of its page has. A member of it must approve each request as well ' +
        '(four eyes).',
    }),
  ),
];

/**
 * @param {string} name
 * @param {{ en?: string, de?: string, schema?: Record<string, unknown>, second?: string }} values
 */
async function send(name, { en = '', de = '', schema = {}, second }) {
  const type = { schema, templates: { en, de }, ...(second ? { second_approver_group: second } : {}) };
  await put('/authorization-details-types/{name}', { name }, type);
}

/**
 * @param {Context} context
 */
export async function newDetailsType({ go }) {
  const made = form(
    [
      group(
        'The type',
        null,
        text('type', 'Name', {
          needed: 'Enter a name.',
          mono: true,
          hint: 'Requests have it in type. A URL of your own is unique.',
        }),
      ),
      ...content(),
    ],
    {
      values: { type: '', en: '', de: '', schema: EXAMPLE, second: '' },
      submit: 'Register',
      cancel: LIST,
      send: async ({ type = '', ...values }) => {
        await send(type ?? '', values);
        await go(LIST);
      },
    },
  );
  return screen(
    { title: 'Register a type of authorization details', back: [LIST, 'Types of authorization details'] },
    made,
  );
}

/**
 * @param {Context} context
 */
export async function editDetailsType({ go, query }) {
  const name = query.get('type') ?? '';
  const known = await get('/authorization-details-types/{name}', { name });
  const made = form(content(), {
    values: { ...known.templates, schema: known.schema, second: known.second_approver_group ?? '' },
    submit: 'Save',
    cancel: LIST,
    send: async (values) => {
      await send(name, values);
      await go(LIST);
    },
  });
  return screen(
    {
      title: name,
      isName: true,
      lead: 'Pending requests keep the text that they have.',
      back: [LIST, 'Types of authorization details'],
    },
    made,
  );
}
