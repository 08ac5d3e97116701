// A client of the admin API, written from its OpenAPI document only: every type here is from the document.
import type { components, operations, paths } from './admin-api.js';

type User = components['schemas']['User'];
type Problem = components['schemas']['Problem'];
type UserList = operations['users.list']['responses'][200]['content']['application/json'];
type Query = NonNullable<operations['users.list']['parameters']['query']>;
type NewUser = paths['/users']['post']['requestBody']['content']['application/json'];

const query: Query = { q: 'ada', state: 'suspended', limit: 20 };
const body: NewUser = { name: 'ada', profile: { nickname: 'Countess' } };

async function call<T>(path: keyof paths, init?: RequestInit): Promise<T> {
  const response = await fetch(path, init);
  if (!response.ok) {
    const problem = (await response.json()) as Problem;
    throw new Error(`${problem.type}: ${problem.detail}`);
  }
  return (await response.json()) as T;
}

export async function names(): Promise<string[]> {
  const made = await call<User>('/users', { method: 'POST', body: JSON.stringify(body) });
  const list = await call<UserList>('/users', { headers: { query: JSON.stringify(query) } });
  return [made.name, ...list.items.map((user) => user.name)];
}
