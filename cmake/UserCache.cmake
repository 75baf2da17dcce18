# SPDX-License-Identifier: Apache-2.0
# torchfeed_user_cache(result): returns the per-user folder for downloads, creating it if needed.
function(torchfeed_user_cache result)
  if(DEFINED ENV{XDG_CACHE_HOME})
    set(folder "$ENV{XDG_CACHE_HOME}/torchfeed")
  else()
    set(folder "$ENV{HOME}/.cache/torchfeed")
  endif()
  file(MAKE_DIRECTORY "${folder}")
  set(${result} "${folder}" PARENT_SCOPE)
endfunction()
