// The request of an accepted run as text: everything that another worker needs to execute it.
//
// Tokens and headers are never stored, nor is `config.secrets`. Of the user's claims only the user
// id, the stamped authorization and the claims that the configuration names are stored.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/id_generator.h"
#include "base/status.h"
#include "run/run_request.h"

namespace agent_graph::run {

// Limit on the text: it is part of one state operation.
inline constexpr size_t kStoredRequestBytesMax = 16 * 1024 * 1024;

// True if the request has `config.secrets`, which another worker could not have.
bool HasSecrets(const RunRequest& request);

// Gives each message without an id one first, because an attempt must recognise the messages that
// an earlier attempt has stored. kInvalidArgument: larger than kStoredRequestBytesMax.
Result<std::string> StoreRequest(RunRequest& request, const std::vector<std::string>& claims,
                                 const IdGenerator& ids);
// kDataLoss: the text is damaged. Deadlines are not part of it.
Result<RunRequest> LoadRequest(std::string_view text);

}  // namespace agent_graph::run
