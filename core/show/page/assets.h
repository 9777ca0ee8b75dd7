#pragma once

#include <string_view>

// The scripts and the style sheet of the page, embedded as strings at build time (embed.cmake).
namespace orch::page::assets {

extern const std::string_view kStart, kScript, kStyle;
// SHA-256 of each, in hexadecimal digits.
extern const std::string_view kStartHash, kScriptHash, kStyleHash;

}  // namespace orch::page::assets
