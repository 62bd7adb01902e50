// Versions of threads, so that a host can write what it knows of a thread without reading it first.
#include "state/postgres/schema/steps.h"

namespace agent_graph::state::postgres {

const char kVersionsStep[] = R"sql(
-- Grows with each transaction that changes rows of the thread. Begins at random, so that a thread
-- that was deleted and made again never has a version of the one before.
ALTER TABLE agent_graph.lease
  ADD COLUMN version bigint NOT NULL DEFAULT (random() * 4e15)::bigint;

-- Locks threads, in the order of their keys, for an instance that lives. Fails if one of them has
-- another version: the caller knows rows of it that were changed since.
CREATE FUNCTION agent_graph.hold_threads(
  holder uuid, holder_incarnation bigint, threads bytea[], versions bigint[]) RETURNS void
LANGUAGE plpgsql AS $body$
BEGIN
  PERFORM 1 FROM agent_graph.instance
    WHERE id = holder AND incarnation = holder_incarnation AND NOT dead FOR KEY SHARE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the instance was declared dead' USING ERRCODE = 'AG001';
  END IF;
  FOR i IN 1 .. cardinality(threads) LOOP
    PERFORM 1 FROM agent_graph.lease
      WHERE thread = threads[i] AND version = versions[i] FOR UPDATE;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'another host has changed the thread' USING ERRCODE = 'AG002';
    END IF;
  END LOOP;
END
$body$;
)sql";

}  // namespace agent_graph::state::postgres
