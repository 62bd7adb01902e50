// Memories and remote tools.
#include "state/postgres/schema/steps.h"

namespace agent_graph::state::postgres {

const char kMemoriesStep[] = R"sql(
-- `owner` is bytes, because a user id may be any text. `seq` counts the changes of the bucket.
CREATE TABLE agent_graph.memory (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id     text COLLATE "C" NOT NULL UNIQUE,
  owner  bytea NOT NULL,
  bucket smallint NOT NULL,
  seq    bigint NOT NULL,
  record bytea NOT NULL,
  space  text NOT NULL,
  vector bytea NOT NULL
);
ALTER TABLE agent_graph.memory ALTER COLUMN vector SET STORAGE EXTERNAL;
CREATE INDEX memory_owner ON agent_graph.memory (owner, number);
CREATE INDEX memory_change ON agent_graph.memory (bucket, seq);

-- Deleted memories, for the indexes of other hosts.
CREATE TABLE agent_graph.memory_tombstone (
  bucket  smallint NOT NULL,
  seq     bigint NOT NULL,
  owner   bytea NOT NULL,
  number  bigint NOT NULL,
  created timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (bucket, seq, number)
);

-- The lock of a row orders the commits of its bucket. Tombstones up to `floor` have been removed.
CREATE TABLE agent_graph.memory_bucket (
  bucket smallint PRIMARY KEY,
  seq    bigint NOT NULL DEFAULT 0,
  floor  bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
INSERT INTO agent_graph.memory_bucket (bucket) SELECT generate_series(0, 255);

CREATE TABLE agent_graph.remote_tools (
  single     boolean PRIMARY KEY DEFAULT true CHECK (single),
  version    bigint NOT NULL DEFAULT 0,
  generation text NOT NULL DEFAULT ''
);
INSERT INTO agent_graph.remote_tools DEFAULT VALUES;
CREATE TABLE agent_graph.remote_tool (
  position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  node     bytea NOT NULL,
  tool     bytea NOT NULL
);
)sql";

}  // namespace agent_graph::state::postgres
