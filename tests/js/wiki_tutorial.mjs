// The wiki of docs/tutorials/saml-wiki.md: a user enrols, signs in, edits a page, and signs out.

import { approve, confirmApproved } from './browser.mjs';
import { nameUser, tutorial } from './tutorial.mjs';

// Apache may need some time until it listens.
async function open(desk, url) {
  for (;;) {
    try {
      return await desk.goto(url);
    } catch (failure) {
      if (!failure.message.includes('ERR_CONNECTION_REFUSED')) throw failure;
      await desk.waitForTimeout(100);
    }
  }
}

await tutorial(async ({ mobile, desk, url }) => {
  const begun = desk.getByRole('heading', { name: 'Sign in to Wiki' });
  await open(desk, url);
  await begun.waitFor();
  await approve(mobile, await nameUser({ mobile, desk }, 'grace'));
  await confirmApproved(mobile);
  await desk.getByText('Grace Hopper (grace)').waitFor();

  await desk.goto(`${url}doku.php?do=check`);
  await desk.getByText('You are part of the groups reader, editor').waitFor();
  await desk.getByText('Your current permission for this page is 8').waitFor();

  await desk.goto(`${url}doku.php?id=hello&do=edit`);
  await desk.locator('textarea[name=wikitext]').fill('A page of Grace');
  await desk.getByRole('button', { name: 'Save' }).click();
  await desk.getByText('A page of Grace').waitFor();

  await desk.getByRole('link', { name: 'Log Out' }).click();
  await begun.waitFor();
});
