// The reason why the guard refuses a request. api/ maps each kind to a status and an error code.
#pragma once

#include <cstdint>
#include <string>

namespace agent_graph::auth {

struct Refusal {
  enum class Kind : uint8_t {
    kNoCredential,
    kExpiredToken,
    kInvalidToken,
    kUnusableKey,  // no token can be verified, because the keys are missing
    kAccount,      // AccountError of a backend: `code` is set
    kHttp,         // HttpError of a backend: `status` is set
    kForbidden,    // the user is known, but not allowed to do this
    kUnavailable,  // a backend did not answer
    kInternal,     // a backend failed
  };
  Kind kind = Kind::kForbidden;
  std::string message = {};  // for the client; empty: default text of the kind
  std::string code = {};
  int status = 0;
};

// True if the request lacks an acceptable credential, and not a permission.
inline bool IsAuthenticationFailure(const Refusal& refusal) {
  return refusal.kind != Refusal::Kind::kForbidden && refusal.kind != Refusal::Kind::kUnavailable &&
         refusal.kind != Refusal::Kind::kInternal;
}

}  // namespace agent_graph::auth
