// The console names the manifest that manages an application and a group. A manifest manages the application Wiki and
// the group Staff.
//
// Environment: BASE_URL, ENROL_URL and LOGIN_NAME of an owner; CHROMIUM and SCREENSHOTS as in browser.mjs.

import { run } from './console.mjs';

async function managed(admin, list, name, key) {
  await admin.open(`/admin/${list}`, list === 'groups' ? 'Groups' : 'Applications');
  await admin.follow(name);
  await admin.heading(name);
  await admin.desk.getByText(`A manifest of platform-team manages this, as ${key}.`).waitFor();
  await admin.look(`managed-${key}`);
}

await run(async (admin) => {
  await managed(admin, 'applications', 'Wiki', 'wiki');
  await managed(admin, 'groups', 'Staff', 'staff');
});
