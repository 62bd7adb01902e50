#include "base/sha256.h"

#include <openssl/evp.h>

#include "base/hex.h"

namespace agent_graph {

std::string Sha256Hex(std::string_view bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  EVP_Digest(bytes.data(), bytes.size(), digest, &length, EVP_sha256(), nullptr);
  return Hex(digest, length);
}

}  // namespace agent_graph
