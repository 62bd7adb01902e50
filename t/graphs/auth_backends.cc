// Authentication and authorization backends that are controlled by a test's requests.
#include <agent_graph/auth.h>

#include <agent_graph/json.h>
#include <csignal>
#include <cstdio>
#include <map>
#include <mutex>

using namespace agent_graph;

namespace {

class ByHeader : public AuthenticationBackend {
 public:
  json Authenticate(const AuthRequest& request, AuthResponse& response,
                    const std::optional<std::string>& credential) override {
    std::string_view what = request.Header("x-do");
    response.SetHeader("X-Backend", "seen");
    if (what == "account") throw AccountError("LOCKED", "unauthorized: the account is locked");
    if (what == "http") throw HttpError(401, "unauthorized: come back later");
    if (what.starts_with("status ")) {
      throw HttpError(std::stoi(std::string(what.substr(7))), "unauthorized: no");
    }
    if (what == "bad-status") throw HttpError(200, "fine");
    if (what == "throw") throw std::runtime_error("secret internals");
    if (what == "throw-int") throw 5;
    if (what == "array") return json::array();
    if (what == "null") return nullptr;
    if (what == "empty") return json::object();
    if (what == "split") response.SetHeader("X-Evil", "a\r\nX-Injected: b");
    json user = {{"user_id", std::string(request.Header("x-user"))},
                 {"credential", nullptr},
                 {"method", request.method},
                 {"path", request.path},
                 {"query", request.query},
                 {"peer", request.peer_address},
                 {"websocket", request.websocket},
                 {"authz", {{"user_id", "forged"}, {"scope", "none"}}}};
    if (credential) user["credential"] = *credential;
    if (what == "scopes") user["scopes"] = {"graph:read"};
    return user;
  }
};

class NeverMade : public AuthenticationBackend {
 public:
  NeverMade() { throw std::runtime_error("no key file"); }
  json Authenticate(const AuthRequest&, AuthResponse&, const std::optional<std::string>&) override {
    return nullptr;
  }
};

class Crashing : public AuthenticationBackend {
 public:
  Crashing() { std::raise(SIGSEGV); }
  json Authenticate(const AuthRequest&, AuthResponse&, const std::optional<std::string>&) override {
    return nullptr;
  }
};

// The user's id selects the decision.
class ByUser : public AuthorizationBackend {
 public:
  bool Authorize(const json& user, const std::string& resource, const std::string& action,
                 const std::optional<std::string>& resource_id, const json& context) override {
    std::string who = user.value("user_id", "");
    if (who == "thrower") throw std::runtime_error("no rule");
    if (who == "configured") return context.value("/config/pass"_json_pointer, false);
    if (who == "" || who == "anybody") return true;
    return resource + ":" + action + ":" + resource_id.value_or("-") == who;
  }
};

class Open : public AuthorizationBackend {
 public:
  bool Authorize(const json&, const std::string&, const std::string&,
                 const std::optional<std::string>&, const json&) override {
    return true;
  }
  Isolation IsolationScope() override { return Isolation::kNone; }
  std::optional<std::vector<std::string>> ScopesFor(const json& user) override {
    if (user.contains("none")) return std::nullopt;
    return std::vector<std::string>{"graph:read", "store:read"};
  }
};

// A thread belongs to the first user who names it, until the thread is deleted.
class FirstComes : public AuthorizationBackend {
 public:
  bool Authorize(const json& user, const std::string&, const std::string&,
                 const std::optional<std::string>& resource_id, const json&) override {
    if (!resource_id) return true;
    std::lock_guard lock(mutex_);
    std::string who = user.value("user_id", "");
    return first_.try_emplace(*resource_id, who).first->second == who;
  }
  Isolation IsolationScope() override { return Isolation::kNone; }
  void Evict(const std::string& thread_id) override {
    std::lock_guard lock(mutex_);
    first_.erase(thread_id);
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> first_;
};

// Every user may access every thread, but rows still belong to their owners. Close writes to
// standard error, which is the worker's error log.
class Lenient : public AuthorizationBackend {
 public:
  bool Authorize(const json&, const std::string&, const std::string&,
                 const std::optional<std::string>&, const json&) override {
    return true;
  }
  void Close() override { std::fputs("the lenient backend is closed\n", stderr); }
};

}  // namespace

AGENT_GRAPH_EXPORT_AUTHENTICATION(ByHeader, ByHeader)
AGENT_GRAPH_EXPORT_AUTHENTICATION(NeverMade, NeverMade)
AGENT_GRAPH_EXPORT_AUTHENTICATION(Crashing, Crashing)
AGENT_GRAPH_EXPORT_AUTHORIZATION(ByUser, ByUser)
AGENT_GRAPH_EXPORT_AUTHORIZATION(Open, Open)
AGENT_GRAPH_EXPORT_AUTHORIZATION(FirstComes, FirstComes)
AGENT_GRAPH_EXPORT_AUTHORIZATION(Lenient, Lenient)
