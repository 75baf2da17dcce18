// SPDX-License-Identifier: Apache-2.0
#pragma once

// Nothing of it is needed; see the README in this folder.
