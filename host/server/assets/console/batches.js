// Requests for many objects, some at a time.

/**
 * How far a run of requests came: the number of finished items, and the problem that ended it.
 * @typedef {{ done: number, problem?: unknown }} Progress
 */

/**
 * Sends requests for some items at a time. `received` gets each response at once, because the responses may contain
 * something that is shown only once, and a later request may be denied or fail. A failure of the first request is
 * thrown: nothing is finished then.
 * @template Item
 * @template Answer
 * @param {Item[]} items
 * @param {number} most the number of items in one request
 * @param {(part: Item[]) => Promise<Answer>} send
 * @param {(answer: Answer, part: Item[]) => void} received
 * @returns {Promise<Progress>}
 */
export async function inBatches(items, most, send, received) {
  let done = 0;
  while (done < items.length) {
    const part = items.slice(done, done + most);
    try {
      received(await send(part), part);
    } catch (problem) {
      if (done === 0) throw problem;
      return { done, problem };
    }
    done += part.length;
  }
  return { done };
}
