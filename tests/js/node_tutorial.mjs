// The application of docs/tutorials/node-application.md: a user enrols, signs in, signs out, and denies a sign-in.

import assert from 'node:assert/strict';

import { approve, confirmApproved } from './browser.mjs';
import { nameUser, tutorial } from './tutorial.mjs';

await tutorial(async ({ mobile, desk, url }) => {
  const signIn = desk.getByRole('link', { name: 'Sign in' });
  const begin = async () => {
    await signIn.click();
    await desk.getByRole('heading', { name: 'Sign in to Expenses' }).waitFor();
    return nameUser({ mobile, desk }, 'ada');
  };
  await desk.goto(url);
  await approve(mobile, await begin());
  await confirmApproved(mobile);
  await desk.getByRole('heading', { name: /Allow Expenses to access your account/ }).waitFor();
  await desk.getByRole('button', { name: 'Allow', exact: true }).click();
  await desk.getByText('Hello, Ada Lovelace. Your roles: approver').waitFor();
  assert.match(await desk.getByRole('table').innerText(), /ada@example\.org/);

  await desk.reload();
  await desk.getByText('Hello, Ada Lovelace.').waitFor();
  await desk.getByRole('button', { name: 'Sign out' }).click();
  await signIn.waitFor();

  await begin();
  await mobile.getByRole('button', { name: 'Deny' }).click();
  await desk.getByRole('button', { name: /back to/i }).click();
  await desk.getByText('You are not signed in: the request was denied in the authenticator').waitFor();
});
