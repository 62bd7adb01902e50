// A sample authentication backend: API keys in a file.
//
//   g++ -std=c++20 -O2 -fPIC -shared api_keys.cc -o api_keys.so
//   "auth": {"method": "custom", "path": "auth/api_keys.so:ApiKeys"}
//
// `api_keys.txt` next to the shared object has one line per key: the key, the user that it
// identifies and, optionally, the user's scopes, separated by commas. Requests carry the key in the
// header X-API-Key or as `Authorization: Bearer`. The file is read once, when a worker starts.
#include <agent_graph/auth.h>
#include <dlfcn.h>

#include <agent_graph/json.h>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace agent_graph;

namespace {

struct Entry {
  std::string key;
  json user;
};

// The server loads a sealed copy of this library; the loader still reports the original path.
std::string FilePath() {
  Dl_info info{};
  dladdr(reinterpret_cast<void*>(&FilePath), &info);
  std::filesystem::path library = info.dli_fname == nullptr ? "" : info.dli_fname;
  return (library.parent_path() / "api_keys.txt").string();
}

json ReadScopes(const std::string& text) {
  json scopes = json::array();
  std::istringstream list(text);
  for (std::string scope; std::getline(list, scope, ',');) scopes.push_back(scope);
  return scopes;
}

// Takes the same time for wrong and right keys of equal length, so that timing reveals nothing
// about a key.
bool Same(std::string_view given, std::string_view key) {
  if (given.size() != key.size()) return false;
  unsigned char difference = 0;
  for (size_t i = 0; i < key.size(); ++i) difference |= given[i] ^ key[i];
  return difference == 0;
}

class ApiKeys : public AuthenticationBackend {
 public:
  ApiKeys() {
    std::ifstream file(FilePath());
    if (!file) throw std::runtime_error(FilePath() + " cannot be read");
    for (std::string line; std::getline(file, line);) {
      std::istringstream fields(line);
      std::string key, user_id, scopes;
      if (!(fields >> key >> user_id) || key[0] == '#') continue;
      json user = {{"user_id", user_id}};
      if (fields >> scopes) user["scopes"] = ReadScopes(scopes);
      entries_.push_back({key, user});
    }
  }

  json Authenticate(const AuthRequest& request, AuthResponse& response,
                    const std::optional<std::string>& credential) override {
    std::string_view given = request.Header("x-api-key");
    if (given.empty() && credential) given = *credential;
    const Entry* found = nullptr;
    for (const Entry& entry : entries_) {
      if (Same(given, entry.key)) found = &entry;
    }
    if (found != nullptr) return found->user;
    response.SetHeader("WWW-Authenticate", "ApiKey");
    if (given.empty()) throw HttpError(401, "unauthorized: an API key is required");
    throw AccountError("INVALID_API_KEY", "unauthorized: unknown API key");
  }

 private:
  std::vector<Entry> entries_;
};

}  // namespace

AGENT_GRAPH_EXPORT_AUTHENTICATION(ApiKeys, ApiKeys)
