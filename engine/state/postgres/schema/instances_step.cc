// The hosts that share the database: who they are, what they tell each other, and the work that one
// of them does for all.
#include "state/postgres/schema/steps.h"

namespace agent_graph::state::postgres {

const char kInstancesStep[] = R"sql(
CREATE TABLE agent_graph.cluster (
  name    text PRIMARY KEY,
  history uuid NOT NULL DEFAULT gen_random_uuid(),
  epoch   bigint NOT NULL DEFAULT 0
);
INSERT INTO agent_graph.cluster (name) VALUES ('agent_graph');

-- One row per state directory of a host. `beat` grows each second.
CREATE TABLE agent_graph.instance (
  id          uuid PRIMARY KEY,
  incarnation bigint NOT NULL,
  beat        bigint NOT NULL DEFAULT 0,
  dead        boolean NOT NULL DEFAULT false,
  host        text NOT NULL,
  address     text NOT NULL,
  version     text NOT NULL,
  schema      integer NOT NULL,
  started     timestamptz NOT NULL DEFAULT now(),
  ended       timestamptz
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- What an instance has to do for another one. Deleted when its beat acknowledges it.
CREATE TABLE agent_graph.notice (
  id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  instance uuid NOT NULL,
  kind     integer NOT NULL,
  body     bytea NOT NULL
);
CREATE INDEX notice_instance ON agent_graph.notice (instance, id);

-- Regular work. A job without a claim is free once it is due.
CREATE TABLE agent_graph.job (
  name     text PRIMARY KEY,
  due      timestamptz NOT NULL DEFAULT now(),
  instance uuid,
  claim    bigint NOT NULL DEFAULT 0
);
)sql";

}  // namespace agent_graph::state::postgres
