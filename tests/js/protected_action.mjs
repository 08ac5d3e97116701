// A protected action in the console: the page requests it as the console does, and the phone shows the summary. Only
// after the approval does the server execute it.
//
// Environment: BASE_URL and ENROL_URL of an owner called ada, and USER_ID of a user to delete; CHROMIUM and SCREENSHOTS
// as in browser.mjs.

import assert from 'node:assert/strict';

import { approve, complaints, desktop, enrolDevice, inspect, launch, phone, shot, submitName } from './browser.mjs';

const { BASE_URL, ENROL_URL, USER_ID } = process.env;
assert.ok(BASE_URL && ENROL_URL && USER_ID, 'an environment variable is missing');

const findings = [];
const look = async (page, name) => findings.push(...(await inspect(page, name)));

async function signIn(desk, mobile) {
  await desk.goto(`${BASE_URL}/admin`);
  await approveAndWait(mobile, await submitName(desk, 'ada'));
  await desk.waitForURL(`${BASE_URL}/admin`);
}

async function approveAndWait(mobile, number) {
  await approve(mobile, number);
  await mobile.getByRole('heading', { name: 'Approved' }).waitFor();
}

/** Calls the admin API from a page of the console, with the headers that its session needs. */
const call = (desk, method, path, approval) =>
  desk.evaluate(
    async ([method, path, approval]) => {
      const me = await (await fetch('/admin/api/v1/me')).json();
      const headers = {
        'X-Assent-CSRF': me.csrf_token,
        'X-Assent-User': me.id,
        ...(approval && { 'X-Assent-Action-Approval': approval }),
      };
      const answer = await fetch(`/admin/api/v1${path}`, { method, headers });
      const text = await answer.text();
      return { status: answer.status, body: text === '' ? null : JSON.parse(text) };
    },
    [method, path, approval],
  );

const browser = await launch();
try {
  const mobile = await (await phone(browser)).newPage();
  const desk = await (await desktop(browser)).newPage();
  const collected = complaints(mobile);
  try {
    await enrolDevice(mobile, ENROL_URL);
    await signIn(desk, mobile);
    await mobile.getByRole('button', { name: 'Done' }).click();

    const refused = await call(desk, 'DELETE', `/users/${USER_ID}`);
    assert.equal(refused.status, 403);
    assert.equal(refused.body.type, 'urn:assent:problem:approval-required');
    const { action_approval: approval } = refused.body;
    await mobile.getByRole('heading', { name: 'Delete the user “<b>bob</b>”' }).waitFor();
    await look(mobile, 'action');
    await approveAndWait(mobile, approval.number);
    await mobile.getByText('Return to your browser.', { exact: true }).waitFor();
    await look(mobile, 'action-approved');
    assert.equal((await call(desk, 'GET', `/action-approvals/${approval.id}?wait=25`)).body.state, 'approved');
    await mobile.getByRole('button', { name: 'Done' }).click();
    await mobile.getByText('Last sign-ins').click();
    await mobile.locator('.past', { hasText: 'Delete a user: <b>bob</b>' }).waitFor();
    await desk.goto(`${BASE_URL}/activity`);
    await desk.getByText('Approved: Delete a user: <b>bob</b>').waitFor();

    assert.equal((await call(desk, 'DELETE', `/users/${USER_ID}`, approval.id)).status, 204);
    assert.equal((await call(desk, 'GET', `/users/${USER_ID}`)).status, 404);
    // From now on, no page names the deleted user.
    await mobile.getByText('Last sign-ins').click();
    await mobile.getByText('Last sign-ins').click();
    await mobile.locator('.past', { hasText: 'Delete a user (data erased since)' }).waitFor();
    assert.equal(await mobile.getByText('<b>bob</b>').count(), 0);
    await desk.reload();
    await desk.getByText('Approved: Delete a user (data erased since)').waitFor();
    assert.equal(await desk.getByText('<b>bob</b>').count(), 0);
    assert.deepEqual(collected, [], 'the app logs no errors');
  } catch (failure) {
    await shot(mobile, 'failed-phone');
    await shot(desk, 'failed-desktop');
    throw failure;
  }
  assert.deepEqual(findings, [], 'no page has an accessibility finding');
} finally {
  await browser.close();
}
