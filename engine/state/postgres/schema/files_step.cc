// Uploaded files, and how far imports from other databases are.
#include "state/postgres/schema/steps.h"

namespace agent_graph::state::postgres {

const char kFilesStep[] = R"sql(
CREATE TABLE agent_graph.file (
  file_id   text COLLATE "C" PRIMARY KEY,
  owner     bytea NOT NULL,
  record    bytea NOT NULL,
  extracted bytea,
  size      bigint NOT NULL,
  complete  boolean NOT NULL DEFAULT false,
  created   timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX file_incomplete ON agent_graph.file (created) WHERE NOT complete;
CREATE TABLE agent_graph.file_chunk (
  file_id text COLLATE "C" NOT NULL,
  n       integer NOT NULL,
  body    bytea NOT NULL,
  PRIMARY KEY (file_id, n)
);
ALTER TABLE agent_graph.file_chunk ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE TABLE agent_graph.import (
  source   text PRIMARY KEY,
  instance uuid NOT NULL,                  -- a dead one, which has the imported leases
  next_key bytea NOT NULL DEFAULT '',
  complete boolean NOT NULL DEFAULT false
);
)sql";

}  // namespace agent_graph::state::postgres
