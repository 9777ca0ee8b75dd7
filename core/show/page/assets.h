#pragma once

#include <string_view>

// What the page brings along, made into texts at build time (embed.cmake).
namespace orch::page::assets {

extern const std::string_view kStart, kScript, kStyle;
// Their SHA-256 in hexadecimal digits.
extern const std::string_view kStartHash, kScriptHash, kStyleHash;

}  // namespace orch::page::assets
