// Tells servers apart.
#pragma once

namespace agent_graph::state::postgres {

// Returns a text that identifies the server, and its last start. It shows a failover even behind a
// pooler that keeps the session.
inline constexpr char kServerName[] =
    "SELECT pg_postmaster_start_time()::text || ' ' || coalesce(inet_server_addr()::text, '')";

}  // namespace agent_graph::state::postgres
