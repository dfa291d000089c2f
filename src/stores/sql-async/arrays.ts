// Array methods whose callback runs statements: one call after the other, because they share a connection.

type ItemCallback<Item, Result> = (item: Item, index: number) => Promise<Result>;

export async function mapInOrder<Item, Result>(
  items: readonly Item[],
  callback: ItemCallback<Item, Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const [index, item] of items.entries()) results.push(await callback(item, index));
  return results;
}

export async function flatMapInOrder<Item, Result>(
  items: readonly Item[],
  callback: ItemCallback<Item, Result | readonly Result[]>,
): Promise<Result[]> {
  const results = await mapInOrder(items, callback);
  return results.flat() as Result[];
}

export async function filterInOrder<Item>(
  items: readonly Item[],
  callback: ItemCallback<Item, unknown>,
): Promise<Item[]> {
  const kept: Item[] = [];
  for (const [index, item] of items.entries()) if (await callback(item, index)) kept.push(item);
  return kept;
}

export async function findInOrder<Item>(
  items: readonly Item[],
  callback: ItemCallback<Item, unknown>,
): Promise<Item | undefined> {
  for (const [index, item] of items.entries()) if (await callback(item, index)) return item;
  return undefined;
}

export async function someInOrder<Item>(
  items: readonly Item[],
  callback: ItemCallback<Item, unknown>,
): Promise<boolean> {
  for (const [index, item] of items.entries()) if (await callback(item, index)) return true;
  return false;
}

export async function everyInOrder<Item>(
  items: readonly Item[],
  callback: ItemCallback<Item, unknown>,
): Promise<boolean> {
  for (const [index, item] of items.entries()) if (!(await callback(item, index))) return false;
  return true;
}

export async function forEachInOrder<Item>(
  items: readonly Item[],
  callback: ItemCallback<Item, unknown>,
): Promise<void> {
  for (const [index, item] of items.entries()) await callback(item, index);
}

export async function reduceInOrder<Item, Result>(
  items: readonly Item[],
  callback: (result: Result, item: Item, index: number) => Promise<Result>,
  initial: Result,
): Promise<Result> {
  let result = initial;
  for (const [index, item] of items.entries()) result = await callback(result, item, index);
  return result;
}
