// A program from the list of known ones: its form, and its own settings with the values of this server.

import { Problem, patch, post } from '../api.js';
import { FieldError, fieldPanel, form, select, text } from '../form.js';
import { t } from '../language.js';
import { filled, membersOf, PROGRAMS, recipeOf, serverValues, spoken, typedAddress } from '../recipes.js';
import { copyable, el, link, notice, screen, section } from '../view.js';
import { applicationAddress } from './applications.js';
import { name } from './client_fields.js';

/** @import { Context, Page, Schema } from '../types.d.ts' */
/** @import { ProgramSetting, Question, Recipe } from '../recipes.js' */

/** The known programs, as links to their forms. */
export function programs() {
  return section(
    'Or choose a program',
    el('p', { class: 'muted' }, 'The form is filled in, and afterwards you get the settings of the program to copy.'),
    el(
      'ul',
      { class: 'programs' },
      ...PROGRAMS.map(([id, label]) =>
        el('li', {}, link(`/admin/applications/new?recipe=${id}`, el('bdi', {}, label))),
      ),
    ),
  );
}

/**
 * The answer to a question of a recipe.
 * @param {Question} question
 * @param {string} typed
 */
function answerTo({ name: asked, example }, typed) {
  if (!example.includes('://')) return typed;
  const address = typedAddress(typed, example);
  if (address === undefined) throw new FieldError(`ask_${asked}`, t`Enter an address, such as ${example}.`);
  return address;
}

/**
 * The question whose answer is in a member of the application, so that an error about the member is shown there.
 * @param {Recipe} recipe
 * @param {string} pointer
 */
function questionOf({ ask, application }, pointer) {
  const value = JSON.stringify(application[pointer.split('/')[1]] ?? '');
  return ask.find(({ name: asked }) => value.includes(`{${asked}}`));
}

/**
 * The form of a new application for a program.
 * @param {Context} context
 * @param {string} id
 * @param {Recipe} recipe
 * @returns {Page}
 */
export function recipeForm({ go }, id, recipe) {
  const questions = recipe.ask.map(({ name: asked, label, example }) =>
    text(asked, spoken(label), { needed: 'Enter a value.', hint: t`For example ${example}` }),
  );
  const made = form([fieldPanel(name(), ...questions.map((one) => ({ ...one, name: `ask_${one.name}` })))], {
    submit: 'Connect it',
    cancel: '/admin/applications',
    values: { name: recipe.name },
    send: async (values) => {
      /** @type {Record<string, string>} */
      const answers = {};
      for (const [index, one] of questions.entries()) {
        const answer = answerTo(recipe.ask[index], one.read() ?? '');
        one.write(answer);
        answers[one.name] = answer;
      }
      const members = { ...membersOf(recipe, answers), name: values.name, recipe: id };
      try {
        const application = await post('/applications', {}, /** @type {Schema<'NewApplication'>} */ (members));
        await go(applicationAddress(application.id));
      } catch (problem) {
        // The form has no field for the member.
        const [error] = problem instanceof Problem ? problem.errors : [];
        const question = error && questionOf(recipe, error.pointer);
        throw question ? new FieldError(`ask_${question.name}`, error.detail) : problem;
      }
    },
  });
  return screen(
    {
      title: t`New: ${recipe.name}`,
      lead: 'We’ve chosen sensible defaults. You can change them later.',
      back: ['/admin/applications/new', 'Another kind'],
    },
    made,
  );
}

/**
 * The choice of a program, and the step of the guide with the settings of the chosen one, if it has the protocol of the
 * application.
 * @param {Schema<'Application'>} application
 * @param {Context} context
 * @returns {Promise<{ choice: HTMLElement, ofProgram?: HTMLElement }>} the recipe is kept with the application
 */
export async function recipeGuide(application, context) {
  const chosen = context.query.get('recipe') ?? application.recipe ?? null;
  const field = select('recipe', 'Which program do you connect?', [['', 'Any program'], ...PROGRAMS]);
  field.write(chosen ?? '');
  const at = applicationAddress(application.id);
  field.input.addEventListener('change', async () => {
    const id = field.input.value;
    try {
      if (context.may('applications:write')) {
        await patch('/applications/{id}', { id: application.id }, { recipe: id || null });
        return await context.go(at);
      }
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      // A manifest manages the application. The choice is in the address, and not stored.
    }
    return context.go(`${at}?recipe=${id}`);
  });
  const recipe = await recipeOf(chosen);
  const fits = !recipe || (recipe.kind === 'saml') === (application.protocol === 'saml');
  const choice = el(
    'div',
    { class: 'recipe-choice' },
    field.element,
    !fits && notice('The recipe of this program is for another protocol than that of the application.', 'warn'),
  );
  return {
    choice,
    ofProgram: recipe && fits ? programStep(recipe, await serverValues(application, context)) : undefined,
  };
}

/**
 * The file of the program that an application was connected for, with its new secret, which is shown only now.
 * @param {Schema<'Application'>} application
 * @param {Pick<Context, 'base' | 'issuer' | 'query'>} context
 * @param {string} secret
 * @returns {Promise<HTMLElement | undefined>}
 */
export async function fileWithSecret(application, context, secret) {
  const recipe = await recipeOf(context.query.get('recipe') ?? application.recipe ?? null);
  const file = recipe?.file;
  if (!file?.lines.some((line) => line.includes('{client_secret}'))) return undefined;
  const values = { ...(await serverValues(application, context)), client_secret: secret };
  return el(
    'div',
    { class: 'named-part' },
    el('h3', {}, t`With the secret: ${file.name}`),
    copyable(filled(file.lines, values).join('\n'), file.name, { wide: true }),
  );
}

/**
 * The value of a setting of a program: to paste, or to select in the program.
 * @param {ProgramSetting} setting
 * @param {Record<string, string>} values
 */
function settingValue({ label, value, is_choice: isChoice }, values) {
  if (value === '{client_secret}') return 'The client secret, from the step above. It is shown once.';
  if (isChoice) return el('bdi', {}, value);
  const shown = filled(value, values);
  return copyable(shown, label, { wide: shown.includes('\n') });
}

/**
 * The settings of a program, with the values of this server.
 * @param {Recipe} recipe
 * @param {Record<string, string>} values
 */
function programStep({ name: program, notes, settings, file }, values) {
  const lines = file && filled(file.lines, values).join('\n');
  return el(
    'li',
    { class: 'recipe' },
    el('h2', {}, t`Settings of ${program}`),
    el('p', {}, spoken(notes)),
    el(
      'dl',
      { class: 'pasted' },
      ...settings.map((setting) =>
        el('div', {}, el('dt', {}, el('bdi', {}, setting.label)), el('dd', {}, settingValue(setting, values))),
      ),
    ),
    lines &&
      el(
        'div',
        { class: 'named-part' },
        el('h3', {}, el('code', {}, file.name)),
        lines.includes('CLIENT_SECRET') &&
          el(
            'p',
            { class: 'muted' },
            'CLIENT_SECRET stands for the client secret. When you create a secret, you get the file with it.',
          ),
        copyable(lines, file.name, { wide: true }),
      ),
  );
}
