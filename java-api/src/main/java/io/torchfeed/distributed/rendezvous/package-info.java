// SPDX-License-Identifier: Apache-2.0
/**
 * How the ranks of a group meet and connect, and the native group behind a process group; for
 * torchfeed's own packages.
 *
 * <p>{@link io.torchfeed.distributed.rendezvous.Rendezvous} leads from the environment variables of
 * a rank to the store on the master and from there to a native group, which {@link
 * io.torchfeed.distributed.rendezvous.GroupCore} owns. Every wait here has a limit.
 */
@NullMarked
package io.torchfeed.distributed.rendezvous;

import org.jspecify.annotations.NullMarked;
