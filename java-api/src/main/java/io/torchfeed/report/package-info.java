// SPDX-License-Identifier: Apache-2.0
/**
 * The page of a run, from the files that it leaves in its folder: {@link
 * io.torchfeed.report.RunReport}. It needs no libtorch, and the page needs no script and no
 * network. All text of files becomes text of the page by {@link io.torchfeed.report.Html}, which
 * escapes it.
 */
@NullMarked
package io.torchfeed.report;

import org.jspecify.annotations.NullMarked;
