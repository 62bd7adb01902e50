// Why the guard turns a request away. api/ knows the status and code of each kind.
#pragma once

#include <cstdint>
#include <string>

namespace agent_graph::auth {

struct Refusal {
  enum class Kind : uint8_t {
    kNoCredential,
    kExpiredToken,
    kInvalidToken,
    kUnusableKey,  // nothing can be verified: key material is gone
    kAccount,      // a backend's AccountError: `code`
    kHttp,         // a backend's HttpError: `status`
    kForbidden,    // a known caller that may not
    kUnavailable,  // a backend did not answer
    kInternal,     // a backend failed
  };
  Kind kind = Kind::kForbidden;
  std::string message = {};  // for the client; empty: the default text of the kind
  std::string code = {};
  int status = 0;
};

// Refused for want of an acceptable credential, rather than of a permission.
inline bool IsAuthenticationFailure(const Refusal& refusal) {
  return refusal.kind != Refusal::Kind::kForbidden && refusal.kind != Refusal::Kind::kUnavailable &&
         refusal.kind != Refusal::Kind::kInternal;
}

}  // namespace agent_graph::auth
