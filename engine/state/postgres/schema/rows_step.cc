// Threads, runs and leases. A row has the key of engine/state/rows/keys.h and the encoded value.
// The columns beside them are for operators and for queries; the service reads the encoded value.
#include "state/postgres/schema/steps.h"

namespace agent_graph::state::postgres {

const char kRowsStep[] = R"sql(
CREATE SEQUENCE agent_graph.thread_number;
CREATE SEQUENCE agent_graph.memory_number;
CREATE SEQUENCE agent_graph.run_order;
CREATE SEQUENCE agent_graph.executor_epoch;

CREATE TABLE agent_graph.meta (key bytea PRIMARY KEY, value bytea NOT NULL);

CREATE TABLE agent_graph.thread (
  key           bytea PRIMARY KEY,
  place         bytea NOT NULL,   -- the beginning of the keys of the thread's rows
  thread_id     text COLLATE "C" NOT NULL,
  number        bigint NOT NULL UNIQUE,
  owner         text COLLATE "C" NOT NULL,
  name          text NOT NULL,
  updated       timestamptz,
  listing       bytea UNIQUE,
  owner_listing bytea UNIQUE,
  last_run      bytea,            -- the key of its record
  value         bytea NOT NULL
);

-- The lock of a thread's rows, and the lease of its run. Each writer locks it first.
CREATE TABLE agent_graph.lease (
  thread    bytea PRIMARY KEY,    -- the key of the thread
  lease_key bytea UNIQUE,         -- null: no run holds the thread
  thread_id text COLLATE "C",
  instance  uuid,
  client    text,
  run_id    text,
  epoch     bigint,
  value     bytea
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE agent_graph.head (key bytea PRIMARY KEY, value bytea NOT NULL)
  WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
CREATE TABLE agent_graph.snapshot (key bytea PRIMARY KEY, value bytea NOT NULL);
ALTER TABLE agent_graph.snapshot ALTER COLUMN value SET STORAGE EXTERNAL;
CREATE TABLE agent_graph.log (key bytea PRIMARY KEY, value bytea NOT NULL);
CREATE TABLE agent_graph.message (
  key    bytea PRIMARY KEY,
  id_key bytea NOT NULL UNIQUE,
  value  bytea NOT NULL
);

CREATE TABLE agent_graph.run (
  key      bytea PRIMARY KEY,
  run_id   text COLLATE "C" NOT NULL,
  number   bigint NOT NULL,       -- of the thread
  status   text NOT NULL,
  attempt  bigint NOT NULL,
  created  timestamptz NOT NULL,
  finished timestamptz,
  value    bytea NOT NULL
);
CREATE TABLE agent_graph.run_request (
  key       bytea PRIMARY KEY,
  run_order bigint NOT NULL,
  instance  uuid,                 -- the host at which it waits or executes
  value     bytea NOT NULL
);
CREATE INDEX run_request_instance ON agent_graph.run_request (instance, run_order);
CREATE TABLE agent_graph.run_key (key bytea PRIMARY KEY, value bytea NOT NULL);

CREATE TABLE agent_graph.lookup (key bytea PRIMARY KEY, value bytea NOT NULL);
CREATE TABLE agent_graph.reply (key bytea PRIMARY KEY, value bytea NOT NULL);
CREATE TABLE agent_graph.memory_row (key bytea PRIMARY KEY, value bytea NOT NULL);
)sql";

}  // namespace agent_graph::state::postgres
