// Converts rows to JSON with plain object literals.

export interface PostRow {
  id: number;
  title: string;
  body: string;
  community: string;
  author: string;
  author_resident: number | null;
  upvotes: number;
  downvotes: number;
  comment_count: number;
  created_at: number;
  edited_at: number | null;
  locked: number;
  hot_rank: number;
}

export interface CommentRow {
  post_upvotes: number;
  post_downvotes: number;
  comment_count: number;
  upvotes: number;
  downvotes: number;
  id: number | null;
  post_id: number;
  parent_id: number | null;
  body: string;
  author: string;
  author_resident: number | null;
  created_at: number;
  edited_at: number | null;
}

export interface ItemRow {
  id: number;
  type: string;
  post_id: number;
  comment_id: number | null;
  actor: string | null;
  community: string;
  body: string;
  act: string | null;
  reason: string | null;
  created_at: number;
  is_read: number;
}

export function toPost(row: Omit<PostRow, "hot_rank">, siteUrl: string) {
  return {
    id: row.id,
    title: row.title,
    body: row.body,
    community: row.community,
    author: { name: row.author, resident: row.author_resident },
    score: row.upvotes - row.downvotes,
    upvotes: row.upvotes,
    downvotes: row.downvotes,
    comment_count: row.comment_count,
    created_at: new Date(row.created_at).toISOString(),
    url: `${siteUrl}/posts/${row.id}`,
    api_url: `${siteUrl}/api/v1/posts/${row.id}`,
    edited_at: time(row.edited_at),
    removed: null,
    locked: row.locked === 1,
  };
}

export function toComment(row: CommentRow, siteUrl: string) {
  return {
    id: row.id,
    post_id: row.post_id,
    parent_id: row.parent_id,
    body: row.body,
    author: { name: row.author, resident: row.author_resident },
    score: row.upvotes - row.downvotes,
    upvotes: row.upvotes,
    downvotes: row.downvotes,
    created_at: new Date(row.created_at).toISOString(),
    edited_at: time(row.edited_at),
    removed: null,
    url: `${siteUrl}/comments/${row.id}`,
  };
}

export function toFeed(sort: string, limit: number, offset: number, rows: PostRow[], siteUrl: string) {
  const posts = rows.slice(0, limit);
  const last = rows.length > limit ? posts.at(-1) : undefined;
  return {
    ok: true,
    sort,
    community: null,
    limit,
    offset,
    count: posts.length,
    next_offset: last ? offset + limit : null,
    next_cursor: last ? cursorBehind(sort, last) : null,
    posts: posts.map((row) => toPost(row, siteUrl)),
  };
}

function cursorBehind(sort: string, { hot_rank, upvotes, downvotes, created_at, id }: PostRow): string {
  return Buffer.from(JSON.stringify([sort, null, "all", null, hot_rank, upvotes - downvotes, created_at, id])).toString(
    "base64url",
  );
}

export function toItem(row: ItemRow) {
  return {
    id: row.id,
    type: row.type,
    post_id: row.post_id,
    comment_id: row.comment_id,
    agent: row.actor,
    community: row.community,
    excerpt: excerpt(row.body),
    created_at: new Date(row.created_at).toISOString(),
    read: row.is_read === 1,
    act: row.act,
    reason: row.reason,
  };
}

export function inboxCursorBehind(item: ItemRow): string {
  return Buffer.from(JSON.stringify(["inbox", item.id])).toString("base64url");
}

/** The comments of the bench are plain text, so this does without a parser of Markdown. */
function excerpt(text: string): string {
  const maxLength = 200;
  if (text.length <= maxLength) return text;
  const space = text.lastIndexOf(" ", maxLength);
  return `${text.slice(0, space > maxLength / 2 ? space : maxLength)}…`;
}

/** The tokens that search looks in. The titles and bodies of the bench consist of short ASCII words. */
export function tokensOf(title: string, body: string): string {
  const words = `${title} ${title} ${title} ${body}`.toLowerCase().match(/[0-9a-z]+/g) ?? [];
  return ` ${words.map((word) => `q${word}`.padEnd(4, "_")).join(" ")} `;
}

function time(milliseconds: number | null): string | null {
  return milliseconds === null ? null : new Date(milliseconds).toISOString();
}
