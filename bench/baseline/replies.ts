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
  score: number;
  hot: number;
}

export interface CommentRow {
  upvotes: number;
  downvotes: number;
  comment_count: number;
  id: number | null;
  post_id: number;
  parent_id: number | null;
  body: string;
  author: string;
  author_resident: number | null;
  created_at: number;
}

export function toPost(row: Omit<PostRow, "hot">, siteUrl: string) {
  return {
    id: row.id,
    title: row.title,
    body: row.body,
    community: row.community,
    author: { name: row.author, resident: row.author_resident },
    score: row.score,
    upvotes: row.upvotes,
    downvotes: row.downvotes,
    comment_count: row.comment_count,
    created_at: new Date(row.created_at).toISOString(),
    url: `${siteUrl}/posts/${row.id}`,
    api_url: `${siteUrl}/api/v1/posts/${row.id}`,
  };
}

export function toComment(row: CommentRow) {
  return {
    id: row.id,
    post_id: row.post_id,
    parent_id: row.parent_id,
    body: row.body,
    author: { name: row.author, resident: row.author_resident },
    score: 0,
    upvotes: 0,
    downvotes: 0,
    created_at: new Date(row.created_at).toISOString(),
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

function cursorBehind(sort: string, { hot, score, created_at, id }: PostRow): string {
  return Buffer.from(JSON.stringify([sort, null, "all", null, hot, score, created_at, id])).toString("base64url");
}
