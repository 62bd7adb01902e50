#include "auth/jwt.h"

#include <gtest/gtest.h>

#include "auth/base64url.h"
#include "jwt_fixture.h"
#include "tokens.h"

namespace agent_graph::auth {
namespace {

using testing::EcKey;
using testing::EdKey;
using testing::EncodeBase64Url;
using testing::Hmac;
using testing::HmacToken;
using testing::Key;
using testing::KeyToken;
using testing::PublicPem;
using testing::RsaKey;
using testing::SignedText;

TEST(Base64Url, HasOneSpellingPerValue) {
  EXPECT_EQ(DecodeBase64Url(""), "");
  EXPECT_EQ(DecodeBase64Url("Zg"), "f");
  EXPECT_EQ(DecodeBase64Url("Zm8"), "fo");
  EXPECT_EQ(DecodeBase64Url("Zm9v"), "foo");
  EXPECT_EQ(DecodeBase64Url("-_-_"), "\xfb\xff\xbf");
  for (const char* broken : {"Z", "Zg==", "Zm8=", "Zh", "Zm9", "+/+/", "Zm 8", "Zm9v\n", "Zm9v."}) {
    EXPECT_FALSE(DecodeBase64Url(broken).has_value()) << broken;
  }
  EXPECT_FALSE(DecodeBase64Url(std::string_view("Zg\0", 3)).has_value());
}

// RFC 7515, appendix A.1: its key, header and payload.
TEST(Jwt, VerifiesTheExampleOfTheStandard) {
  std::string key = *DecodeBase64Url(
      "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow");
  JwtKey verifier = JwtKey::FromSecret(*FindJwtAlgorithm("HS256"), key).value();
  std::string text =
      "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9."
      "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVl"
      "fQ";
  std::string signature = *DecodeBase64Url("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
  EXPECT_TRUE(verifier.Verify(text, signature));
  EXPECT_FALSE(verifier.Verify(text + "x", signature));
  EXPECT_FALSE(verifier.Verify(text, signature.substr(1)));
  EXPECT_FALSE(verifier.Verify(text, ""));
}

// RFC 7515, appendix A.3.
TEST(Jwt, VerifiesTheEllipticExampleOfTheStandard) {
  const char* set = R"({"keys":[{"kty":"EC","crv":"P-256",
      "x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
      "y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]})";
  auto keys = ReadJwks(*FindJwtAlgorithm("ES256"), set);
  ASSERT_TRUE(keys.ok()) << keys.status().ToString();
  std::string text =
      "eyJhbGciOiJFUzI1NiJ9."
      "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVl"
      "fQ";
  std::string signature = *DecodeBase64Url(
      "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q");
  EXPECT_TRUE((*keys)[0].Verify(text, signature));
  EXPECT_FALSE((*keys)[0].Verify(text, signature + "x"));
  EXPECT_FALSE((*keys)[0].Verify(text, std::string(64, '\0')));
}

// RFC 8037, appendix A.4.
TEST(Jwt, VerifiesTheEdwardsExampleOfTheStandard) {
  const char* set = R"({"keys":[{"kty":"OKP","crv":"Ed25519",
      "x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]})";
  auto keys = ReadJwks(*FindJwtAlgorithm("EdDSA"), set);
  ASSERT_TRUE(keys.ok()) << keys.status().ToString();
  EXPECT_TRUE((*keys)[0].Verify(
      "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc",
      *DecodeBase64Url("hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sV"
                       "vpAr_MuM0KAg")));
}

TEST(Jwt, GivesEveryClaimOfAValidToken) {
  json claims;
  std::string token = HmacToken(Claims({{"roles", {"admin"}}}), kSecret);
  ASSERT_EQ(Verifier("HS256", kSecret).Verify(token, kNow, claims), TokenVerdict::kValid);
  EXPECT_EQ(claims, Claims({{"roles", {"admin"}}}));
}

TEST(Jwt, VerifiesEveryAsymmetricAlgorithmWithItsOwnKeyOnly) {
  const std::map<std::string, Key> keys = {{"RSA", RsaKey()},
                                           {"P-256", EcKey("P-256")},
                                           {"P-384", EcKey("P-384")},
                                           {"P-521", EcKey("P-521")},
                                           {"Ed", EdKey()}};
  const std::map<std::string, std::string> algorithms = {
      {"RS256", "RSA"},   {"RS384", "RSA"}, {"RS512", "RSA"},   {"PS256", "RSA"},
      {"PS384", "RSA"},   {"PS512", "RSA"}, {"ES256", "P-256"}, {"ES384", "P-384"},
      {"ES512", "P-521"}, {"EdDSA", "Ed"}};
  for (const auto& [algorithm, type] : algorithms) {
    const Key& key = keys.at(type);
    JwtVerifier verifier = Verifier(algorithm, PublicPem(key));
    std::string token = KeyToken(algorithm, key, Claims());
    EXPECT_EQ(Verify(verifier, token), TokenVerdict::kValid) << algorithm;
    token[token.rfind('.') + 5] ^= 1;
    EXPECT_EQ(Verify(verifier, token), TokenVerdict::kInvalid) << algorithm;
    for (const auto& [other_type, other] : keys) {
      EXPECT_EQ(Refused(algorithm, PublicPem(other)).ok(), other_type == type)
          << algorithm << " " << other_type;
    }
    for (const auto& [other, other_type] : algorithms) {
      if (other == algorithm || other_type != type) continue;
      EXPECT_EQ(Verify(verifier, KeyToken(other, key, Claims())), TokenVerdict::kInvalid)
          << algorithm << " " << other;
    }
  }
}

TEST(Jwt, VerifiesEverySymmetricAlgorithm) {
  const std::map<std::string, const EVP_MD*> digests = {
      {"HS256", EVP_sha256()}, {"HS384", EVP_sha384()}, {"HS512", EVP_sha512()}};
  for (const auto& [algorithm, digest] : digests) {
    std::string text = SignedText({{"alg", algorithm}}, Claims());
    std::string token = text + "." + EncodeBase64Url(Hmac(digest, kSecret, text));
    EXPECT_EQ(Verify(Verifier(algorithm, kSecret), token), TokenVerdict::kValid);
    EXPECT_EQ(Verify(Verifier(algorithm, "another secret"), token), TokenVerdict::kInvalid);
  }
}

TEST(Jwt, TheHeaderNeverChoosesTheAlgorithm) {
  Key key = RsaKey();
  std::string pem = PublicPem(key);
  JwtVerifier verifier = Verifier("RS256", pem);
  // Signed with the public key, which is no secret.
  EXPECT_EQ(Verify(verifier, HmacToken(Claims(), pem)), TokenVerdict::kInvalid);
  for (const char* name : {"none", "None", "NONE", "", "HS256", "rs256"}) {
    std::string unsigned_token = SignedText({{"alg", name}}, Claims()) + ".";
    EXPECT_EQ(Verify(verifier, unsigned_token), TokenVerdict::kInvalid) << name;
    EXPECT_EQ(Verify(Verifier("HS256", kSecret), unsigned_token), TokenVerdict::kInvalid) << name;
  }
  EXPECT_EQ(FindJwtAlgorithm("none"), nullptr);
  EXPECT_FALSE(Refused("none", kSecret).ok());
}

struct ClaimCase {
  const char* name;
  json changes;
  TokenVerdict verdict;
};

TEST(Jwt, ChecksTheClaims) {
  JwtVerifier verifier = Verifier("HS256", kSecret);
  const ClaimCase cases[] = {
      {"expired by one second", {{"exp", kNow - 1}}, TokenVerdict::kExpired},
      {"expires now", {{"exp", kNow}}, TokenVerdict::kExpired},
      {"expires in a moment", {{"exp", kNow + 0.5}}, TokenVerdict::kValid},
      {"exp is a huge number", {{"exp", 1e300}}, TokenVerdict::kValid},
      {"exp is text", {{"exp", "1900000000"}}, TokenVerdict::kInvalid},
      {"exp is true", {{"exp", true}}, TokenVerdict::kInvalid},
      {"exp is null", {{"exp", nullptr}}, TokenVerdict::kInvalid},
      {"nbf within the leeway", {{"nbf", kNow + 59}}, TokenVerdict::kValid},
      {"nbf beyond it", {{"nbf", kNow + 61}}, TokenVerdict::kInvalid},
      {"nbf is text", {{"nbf", "0"}}, TokenVerdict::kInvalid},
      {"iat within the leeway", {{"iat", kNow + 59}}, TokenVerdict::kValid},
      {"iat beyond it", {{"iat", kNow + 61}}, TokenVerdict::kInvalid},
      {"user_id is a number", {{"user_id", 42}}, TokenVerdict::kValid},
      {"user_id is empty", {{"user_id", ""}}, TokenVerdict::kInvalid},
      {"user_id is blank", {{"user_id", "  "}}, TokenVerdict::kInvalid},
      {"user_id is null", {{"user_id", nullptr}}, TokenVerdict::kInvalid},
      {"user_id is an object", {{"user_id", json::object()}}, TokenVerdict::kInvalid},
      {"user_id is too long", {{"user_id", std::string(1025, 'a')}}, TokenVerdict::kInvalid},
  };
  for (const ClaimCase& test : cases) {
    EXPECT_EQ(Verify(verifier, HmacToken(Claims(test.changes), kSecret)), test.verdict)
        << test.name;
  }
  EXPECT_EQ(Verify(verifier, HmacToken({{"user_id", "a"}}, kSecret)), TokenVerdict::kInvalid);
  EXPECT_EQ(Verify(verifier, HmacToken({{"sub", "a"}, {"exp", kNow + 9}}, kSecret)),
            TokenVerdict::kInvalid);
  EXPECT_EQ(Verify(verifier, HmacToken({{"sub", "a"}, {"exp", kNow - 9}}, "wrong")),
            TokenVerdict::kInvalid)
      << "a forged token is never merely expired";
  EXPECT_EQ(Verify(verifier, HmacToken(json::array(), kSecret)), TokenVerdict::kInvalid);
}

TEST(Jwt, RefusesBrokenTokens) {
  JwtVerifier verifier = Verifier("HS256", kSecret);
  std::string good = HmacToken(Claims(), kSecret);
  ASSERT_EQ(Verify(verifier, good), TokenVerdict::kValid);
  std::string payload = good.substr(0, good.rfind('.'));
  for (const std::string& token :
       {std::string(), std::string("."), std::string(".."), std::string("a.b.c"), good + ".",
        good + "=", " " + good, good + "\n", payload, payload + ".", "." + good,
        good.substr(0, good.size() - 1), std::string(kTokenBytesMax + 1, 'a')}) {
    EXPECT_EQ(Verify(verifier, token), TokenVerdict::kInvalid) << token.substr(0, 80);
  }
  auto with_header = [&](const json& header) { return HmacToken(Claims(), kSecret, header); };
  EXPECT_EQ(Verify(verifier, with_header({{"typ", "JWT"}})), TokenVerdict::kInvalid);
  EXPECT_EQ(Verify(verifier, with_header({{"alg", 5}})), TokenVerdict::kInvalid);
  EXPECT_EQ(Verify(verifier, with_header(json::array({"HS256"}))), TokenVerdict::kInvalid);
  EXPECT_EQ(Verify(verifier, with_header({{"alg", "HS256"}, {"crit", {"exp"}}})),
            TokenVerdict::kInvalid);
  // The last character of a signature has two unused bits.
  std::string twisted = good;
  char& last = twisted.back();
  const std::string alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  last = alphabet[alphabet.find(last) + 1];
  EXPECT_EQ(Verify(verifier, twisted), TokenVerdict::kInvalid);
}

TEST(Jwt, EveryChangedByteOfATokenIsNoticed) {
  JwtVerifier verifier = Verifier("HS256", kSecret);
  const std::string good = HmacToken(Claims(), kSecret);
  for (size_t i = 0; i < good.size(); ++i) {
    for (char replacement : {'A', 'z', '.', '='}) {
      std::string token = good;
      if (token[i] == replacement) continue;
      token[i] = replacement;
      EXPECT_NE(Verify(verifier, token), TokenVerdict::kValid) << i << replacement;
    }
  }
}

TEST(Jwt, ReportsThatItHasNoKeys) {
  EXPECT_EQ(Verify(JwtVerifier::WithoutKeys(), HmacToken(Claims(), kSecret)),
            TokenVerdict::kUnusableKey);
}

std::string TextToken(std::string_view header, std::string_view payload) {
  std::string text = EncodeBase64Url(header) + "." + EncodeBase64Url(payload);
  return text + "." + EncodeBase64Url(Hmac(EVP_sha256(), kSecret, text));
}

// Another program that checks the token may use the other one of two duplicate members.
TEST(Jwt, RefusesDuplicateMembers) {
  constexpr std::string_view kHeader = R"({"alg":"HS256","typ":"JWT"})";
  const std::string claims = R"("user_id":"a","exp":)" + std::to_string(kNow + 60);
  const JwtVerifier verifier = Verifier("HS256", kSecret);
  EXPECT_EQ(Verify(verifier, TextToken(kHeader, "{" + claims + "}")), TokenVerdict::kValid);
  for (const std::string& payload :
       {R"({"user_id":"b",)" + claims + "}", R"({"exp":1,)" + claims + "}",
        "{" + claims + R"(,"user_id":"a"})", "{" + claims + R"(,"x":1,"x":1})",
        "{" + claims + R"(,"x":{"role":"user","role":"admin"}})",
        "{" + claims + R"(,"x":[{"y":{"z":1,"z":2}}]})",
        "{" + claims + R"(,"user\u005fid":"b"})"}) {
    EXPECT_EQ(Verify(verifier, TextToken(kHeader, payload)), TokenVerdict::kInvalid) << payload;
  }
  for (const char* header :
       {R"({"alg":"none","alg":"HS256"})", R"({"alg":"HS256","alg":"HS256"})",
        R"({"alg":"HS256","kid":"a","kid":"b"})", R"({"alg":"HS256","jwk":{"kty":1,"kty":2}})"}) {
    EXPECT_EQ(Verify(verifier, TextToken(header, "{" + claims + "}")), TokenVerdict::kInvalid)
        << header;
  }
}

}  // namespace
}  // namespace agent_graph::auth
