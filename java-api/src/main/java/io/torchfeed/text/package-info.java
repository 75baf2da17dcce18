// SPDX-License-Identifier: Apache-2.0
/**
 * Text files divided among ranks by bytes.
 *
 * <p>A {@link io.torchfeed.text.TextPartition} assigns the bytes of files to ranks; a {@link
 * io.torchfeed.text.LineCursor} reads the lines of a rank as bytes, and its {@link
 * io.torchfeed.text.TextState} resumes them, also with another number of ranks.
 *
 * <pre>{@code
 * TextPartition plan = TextPartition.plan(List.of("edges"), 2);
 * try (LineCursor lines = plan.open(0)) {
 *   while (lines.next()) {
 *     use(lines.bytes(), lines.start(), lines.length());
 *   }
 * }
 * }</pre>
 *
 * <p>Every line goes to exactly one rank, whatever its bytes: a line belongs to the rank whose
 * range includes its first byte. Files that changed since they were planned and lines that cannot
 * be read cause typed exceptions that name the location; nothing is skipped silently.
 *
 * <p>Plans and states are immutable and may be used by any number of threads; a cursor may be used
 * by one thread at a time.
 *
 * <p>Source of the rules: douban/paracel d1548dd (partition.hpp, loader.hpp), with corrections of
 * the defects that lose lines.
 *
 * <p>This package is plain Java and imports only {@code io.torchfeed.storage} and helpers from
 * torchfeed.
 */
@NullMarked
package io.torchfeed.text;

import org.jspecify.annotations.NullMarked;
