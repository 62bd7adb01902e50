// libpq, loaded when the first connection needs it, so that a service without PostgreSQL does not
// depend on it.
#pragma once

#include <postgresql/libpq-fe.h>

#include "base/status.h"

namespace agent_graph::state::postgres {

// The functions of libpq that this folder calls.
#define AG_LIBPQ_FUNCTIONS(X) \
  X(PQclear)                  \
  X(PQcmdTuples)              \
  X(PQconnectdbParams)        \
  X(PQconninfoFree)           \
  X(PQconninfoParse)          \
  X(PQconsumeInput)           \
  X(PQenterPipelineMode)      \
  X(PQerrorMessage)           \
  X(PQexitPipelineMode)       \
  X(PQfinish)                 \
  X(PQflush)                  \
  X(PQfreemem)                \
  X(PQgetResult)              \
  X(PQgetisnull)              \
  X(PQgetlength)              \
  X(PQgetvalue)               \
  X(PQisBusy)                 \
  X(PQnotifies)               \
  X(PQntuples)                \
  X(PQpipelineSync)           \
  X(PQresultErrorField)       \
  X(PQresultStatus)           \
  X(PQsendPrepare)            \
  X(PQsendQuery)              \
  X(PQsendQueryPrepared)      \
  X(PQserverVersion)          \
  X(PQsetNoticeReceiver)      \
  X(PQsetnonblocking)         \
  X(PQsocket)                 \
  X(PQstatus)

struct Libpq {
#define AG_LIBPQ_MEMBER(name) decltype(&::name) name = nullptr;
  AG_LIBPQ_FUNCTIONS(AG_LIBPQ_MEMBER)
#undef AG_LIBPQ_MEMBER
};

// Loads the library once for the process; it is never unloaded. kNotConfigured: it is missing or
// too old. Thread-safe.
Result<const Libpq*> LoadLibpq();

}  // namespace agent_graph::state::postgres
