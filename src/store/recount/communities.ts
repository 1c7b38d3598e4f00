import { postCount } from "../tables/post-counts.ts";
import { compare, limitRows, type TableCheck } from "./finding.ts";
import { createRowCheck } from "./row-check.ts";
import { createdBefore, firstOf, isFlag, refersTo, toAgent, toCommunity } from "./rules.ts";

const sql = `SELECT c.id, ${postCount} AS post_total,
    (SELECT COUNT(*) FROM posts p FORCE INDEX (posts_community_new) WHERE p.community_id = c.id) AS posts
  FROM communities c FORCE INDEX (PRIMARY) WHERE c.id > ? AND c.id <= ? HAVING post_total <> posts ${limitRows}`;

/** `communityCheck` cannot count posts, because the count of a community is the sum of several rows. */
export const postCountCheck: TableCheck = {
  table: "communities",
  key: "id",
  derived: ["post_count"],
  async find(db, { after, to }) {
    const rows = await db.rows<{ id: number; post_total: number; posts: number }>(sql, [after, to]);
    return rows.flatMap(({ id, post_total, posts }) => compare("communities.post_count", { id }, post_total, posts));
  },
};

const [creator, isAgent, problem] = refersTo("created_by", "agent", "agents");
export const communityCheck = createRowCheck("communities", {
  key: ["id"],
  rules: [
    [creator, `t.created_by IS NULL OR ${isAgent}`, problem],
    [
      "created_at",
      `t.created_by IS NULL OR ${createdBefore(firstOf("posts", "posts_community_new", "community_id"))}`,
      "it is after the first post",
    ],
  ],
});

export const moderatorCheck = createRowCheck("community_moderators", {
  key: ["community_id", "agent_id"],
  rules: [toAgent, toCommunity, isFlag("standing")],
});
