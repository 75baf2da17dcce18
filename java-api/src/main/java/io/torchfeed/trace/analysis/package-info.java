// SPDX-License-Identifier: Apache-2.0
/**
 * The analysis of the dumps of all processes: who waited for whom, which rank has not entered a
 * call, and the files for other tools. Hidden; the command {@code trace} is its face.
 */
@NullMarked
package io.torchfeed.trace.analysis;

import org.jspecify.annotations.NullMarked;
