export const guessByNameSql = "select * from guesses where name = ?";
export const guessNamesSql = "select name from guesses";
export const upsertGuessSql = `
insert into guesses (name, count, locked_until, at) values (?, ?, ?, ?)
on conflict (name) do update set count = excluded.count, locked_until = excluded.locked_until, at = excluded.at`;
export const deleteGuessSql = "delete from guesses where name = ?";
