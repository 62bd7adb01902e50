// A client of the service's public HTTP API, on libcurl.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "agent_graph/json_fwd.h"
#include "base/status.h"
#include "cli/arguments.h"

namespace agent_graph::cli {

inline constexpr char kUrlDefault[] = "http://127.0.0.1:8000";
inline constexpr char kTokenVariable[] = "AGENT_GRAPH_TOKEN";

inline constexpr Option kUrlOption = {
    .name = "url", .value = "URL", .help = "address of the service (http://127.0.0.1:8000)"};

// One connection; use it from one thread at a time. A failure says what to do about it.
class ApiClient {
 public:
  // `url` has the prefix of nginx's location, if there is one. `token` may be empty.
  ApiClient(std::string url, const std::string& token);
  ~ApiClient();
  ApiClient(ApiClient&&) noexcept;
  ApiClient& operator=(ApiClient&&) noexcept;

  // The token of the environment, and the URL of the arguments.
  static ApiClient Of(const Arguments& arguments);

  // `data` of the answer. A failure has the code of CodeOf.
  Result<json> Get(const std::string& path);
  // Posts to a route that streams, and passes each line of the answer. Returns when it is complete.
  Status Stream(const std::string& path, const json& body,
                const std::function<void(std::string_view line)>& on_line);

 private:
  struct Transfer;
  Status Perform(const std::string& path, const std::string* body, Transfer& transfer);

  std::string url_;
  struct Handles;
  std::unique_ptr<Handles> handles_;
};

// The code of an answer with another status than 200. kNotFound: 404; kNotConfigured: the service
// has no component for the request; kUnavailable: all others.
StatusCode CodeOf(long status, std::string_view body);
// The line that explains an answer with another status than 200.
std::string ProblemOf(long status, std::string_view body);

}  // namespace agent_graph::cli
