// Changes of memories, for the search indexes of the hosts.
#include "state/postgres/schema/steps.h"

namespace agent_graph::state::postgres {

const char kMemoriesStep[] = R"sql(
-- Owners are spread over buckets. `seq` counts the changes of a bucket: the lock of its row orders
-- their commits, so that a host that has read up to `seq` has missed none. Changes up to `floor`
-- have been removed.
CREATE TABLE agent_graph.memory_bucket (
  bucket bigint PRIMARY KEY,
  seq    bigint NOT NULL DEFAULT 0,
  floor  bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
INSERT INTO agent_graph.memory_bucket (bucket) SELECT generate_series(0, 255);

-- A memory that was stored, changed or deleted. `owner` is bytes, because it may be any text.
CREATE TABLE agent_graph.memory_change (
  bucket  bigint NOT NULL,
  seq     bigint NOT NULL,
  number  bigint NOT NULL,
  owner   bytea NOT NULL,
  created timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (bucket, seq, number)
);
CREATE INDEX memory_change_created ON agent_graph.memory_change (created);
)sql";

}  // namespace agent_graph::state::postgres
