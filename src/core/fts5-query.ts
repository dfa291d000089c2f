import type { SearchAlternative, SearchClause, SearchQuery } from "./search-query.ts";

/** The FTS5 expression with every term quoted. `undefined` if there is nothing to search for. */
export function toFts5(query: SearchQuery): string | undefined {
  if (query.alternatives.length === 0) return undefined;
  return query.alternatives.map(alternativeToFts5).join(" OR ");
}

function alternativeToFts5({ required, excluded }: SearchAlternative): string {
  const all = required.map(clauseToFts5).join(" AND ");
  if (excluded.length === 0) return `(${all})`;
  return `((${all}) NOT (${excluded.map(clauseToFts5).join(" OR ")}))`;
}

function clauseToFts5({ terms, prefix }: SearchClause): string {
  const phrase = `"${terms.join(" ").replaceAll('"', '""')}"`;
  return prefix ? `${phrase} *` : phrase;
}
