"""What a record of DUMPI's binary files holds, by the call that it is of.

Format: sst-dumpi, ``dumpi/common/dumpiio.c`` and ``funclabels.h``. A line has the numbers of calls,
their names, and the fields: ``name:kind``, or the kind alone where nothing needs the field.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

#: Kinds: whole numbers of 4 (i), 2 (h), 1 (b) and 8 bytes (q), statuses (s); of several, behind how
#: many they are: of 4 (I) and 2 bytes (H), of 1 (B), characters (C), texts (T), lists of I (L).
#: A question mark: only in the root's record. Indices before version 0.6.8 or 0.6.9 are one (J).
_SENDS = "count:i datatype:h dest:i tag:i comm:h"
_RECEIVES = "count:i datatype:h source:i tag:i comm:h"
_ACCESSES = "h q i h"
_ALL_TO_ALL = "sendcount:i sendtype:h recvcount:i recvtype:h comm:h"

_RECORDS = f"""
0 send: {_SENDS}
1 recv: {_RECEIVES} status:s
2 get_count: s h i
3-5 bsend ssend rsend: {_SENDS}
6-7 buffer_attach buffer_detach: i
8-11 isend ibsend issend irsend: {_SENDS} request:i
12 irecv: {_RECEIVES} request:i
13 wait: request:i status:s
14 test: request:i flag:i status:s
15 request_free: request:i
16 waitany: count:i requests:I index:i status:s
17 testany: count:i requests:I index:i flag:i status:s
18 waitall: count:i requests:I statuses:s
19 testall: count:i requests:I flag:i statuses:s
20-21 waitsome testsome: count:i requests:I outcount:i indices:I statuses:s
22 iprobe: source:i tag:i comm:h flag:i status:s
23 probe: source:i tag:i comm:h status:s
24 cancel: request:i
25 test_cancelled: s i
26-29 send_init bsend_init ssend_init rsend_init: {_SENDS} request:i
30 recv_init: {_RECEIVES} request:i
31 start: request:i
32 startall: count:i requests:I
33 sendrecv: sendcount:i sendtype:h dest:i sendtag:i recvcount:i recvtype:h source:i recvtag:i \
comm:h status:s
34 sendrecv_replace: count:i datatype:h dest:i sendtag:i source:i recvtag:i comm:h status:s
35 type_contiguous: count:i oldtype:h newtype:h
36-37 type_vector type_hvector: count:i blocklength:i i oldtype:h newtype:h
38-39 type_indexed type_hindexed: i lengths:I I oldtype:h newtype:h
40 type_struct: i lengths:I J oldtypes:H newtype:h
41 address: i
42-45 type_extent type_size type_lb type_ub: h i
46-47 type_commit type_free: h
48 get_elements: s h i
49 pack: i h i i i h
50 unpack: i i i i h h
51 pack_size: i h h i
52 barrier: comm:h
53 bcast: count:i datatype:h root:i comm:h
54 gather: commrank:i sendcount:i sendtype:h root:i comm:h ?i ?h
55 gatherv: commrank:i i sendcount:i sendtype:h root:i comm:h ?I ?I h
56 scatter: commrank:i recvcount:i recvtype:h root:i comm:h ?i ?h
57 scatterv: commrank:i i h recvcount:i recvtype:h root:i comm:h ?I ?I
58 allgather: {_ALL_TO_ALL}
59 allgatherv: i sendcount:i sendtype:h I I h comm:h
60 alltoall: {_ALL_TO_ALL}
61 alltoallv: i sendcounts:I I sendtype:h I I h comm:h
62 reduce: count:i datatype:h b root:i comm:h
63 op_create: i b
64 op_free: b
65 allreduce: count:i datatype:h b comm:h
66 reduce_scatter: i recvcounts:I datatype:h b comm:h
67 scan: count:i datatype:h b comm:h
68-69 group_size group_rank: h i
70 group_translate_ranks: h i I h I
71 group_compare: h h b
72 comm_group: comm:h group:h
73-75 group_union group_intersection group_difference: group1:h group2:h newgroup:h
76-77 group_incl group_excl: group:h i ranks:I newgroup:h
78-79 group_range_incl group_range_excl: h i L h
80 group_free: h
81 comm_size: comm:h size:i
82 comm_rank: comm:h rank:i
83 comm_compare: h h b
84 comm_dup: oldcomm:h newcomm:h
85 comm_create: oldcomm:h group:h newcomm:h
86 comm_split: oldcomm:h color:i key:i newcomm:h
87 comm_free: comm:h
88-89 comm_test_inter comm_remote_size: h i
90 comm_remote_group: h h
91 intercomm_create: h i h i i h
92 intercomm_merge: h i h
93-94 keyval_create keyval_free: h
95 attr_put: h i
96 attr_get: h i i
97 attr_delete: h i
98 topo_test: h b
99 cart_create: oldcomm:h i dims:I I i newcomm:h
100 dims_create: i i I I
101 graph_create: i h i I I i h
102 graphdims_get: h i i
103 graph_get: i i h i i I I
104 cartdim_get: h i
105 cart_get: i h i I I J
106 cart_rank: i h I i
107 cart_coords: i h i i I
108 graph_neighbors_count: h i i
109 graph_neighbors: i h i i I
110 cart_shift: h i i i i
111 cart_sub: i oldcomm:h remain_dims:I newcomm:h
112 cart_map: h i I I i
113 graph_map: i h i I I i
114 get_processor_name: C i
115 get_version: i i
116 errhandler_create: h
117-118 errhandler_set errhandler_get: h h
119 errhandler_free: h
120 error_string: i C i
121 error_class: i i
122-123 wtime wtick:
124 init: T
125 finalize:
126 initialized: i
127 abort: h i
132 comm_disconnect: h
133 comm_get_parent: h
141 accumulate: i h i i i h b h
142-143 get put: i h i i i h h
144 win_complete: h
145 win_create: i i h h h
146 win_fence: b h
147 win_free: h
148 win_get_group: h h
149 win_lock: b i b h
150-151 win_post win_start: h b h
152 win_test: h i
153 win_unlock: i h
154 win_wait: h
155 alltoallw: i I I H I I H comm:h
156 exscan: count:i datatype:h b comm:h
160 comm_call_errhandler: h i
161 comm_create_keyval: h
162 comm_delete_attr: h h
163 comm_free_keyval: h
164 comm_get_attr: h h i
165 comm_get_name: h C i
166 comm_set_attr: h h
167 comm_set_name: h C
171 init_thread: T b b
172 is_thread_main: i
173 query_thread: b
178 type_dup: oldtype:h newtype:h
183 type_get_name: h C i
185 type_set_name: h C
195 alloc_mem: i h
197-198 comm_get_errhandler comm_set_errhandler: h h
202 finalized: i
203 free_mem:
204 get_address: i
205 info_create: h
207 info_dup: h h
208 info_free: h
209 info_get: h C i C i
213 info_set: h C C
216 request_get_status: request:i flag:i s
218 type_create_hindexed: i lengths:I I oldtype:h newtype:h
219 type_create_hvector: count:i blocklength:i i oldtype:h newtype:h
220 type_create_indexed_block: count:i blocklength:i I oldtype:h newtype:h
221 type_create_resized: oldtype:h i i newtype:h
222 type_create_struct: i lengths:I I oldtypes:H newtype:h
223 type_create_subarray: i I I I b h h
224-225 type_get_extent type_get_true_extent: h i i
230 file_open: h C b h h
231 file_close: h
232 file_delete: C h
233-235 file_set_size file_preallocate file_get_size: h q
238-239 file_set_info file_get_info: h h
240 file_set_view: h q h h C h
242-245 file_read_at file_read_at_all file_write_at file_write_at_all: {_ACCESSES} s
246-247 file_iread_at file_iwrite_at: {_ACCESSES} i
248-251 file_read file_read_all file_write file_write_all: h i h s
252-253 file_iread file_iwrite: h i h i
254 file_seek: h q b
255 file_get_position: h q
257-258 file_read_shared file_write_shared: h i h s
261-262 file_read_ordered file_write_ordered: h i h s
265 file_read_at_all_begin: {_ACCESSES}
266 file_read_at_all_end: h s
267 file_write_at_all_begin: {_ACCESSES}
268 file_write_at_all_end: h s
269 file_read_all_begin: h i h
270 file_read_all_end: h s
271 file_write_all_begin: h i h
272 file_write_all_end: h s
281 file_sync: h
282 io_test: i i s
283 io_wait: i s
284 io_testall: i I i s
285 io_waitall: i I s
291-292 function_enter function_exit: q
"""

#: Where the calls end.
END = 293


def records() -> Mapping[int, tuple[str, Sequence[tuple[str, str]]]]:
    """Return names and fields of calls, each a name, "" where nothing needs it, and a kind."""
    table: dict[int, tuple[str, Sequence[tuple[str, str]]]] = {}
    for line in _RECORDS.strip().splitlines():
        head, _, text = line.partition(":")
        numbers, *names = head.split()
        words = (word.rpartition(":") for word in text.split())
        fields = tuple((name, kind) for name, _, kind in words)
        first = int(numbers.split("-")[0])
        table.update((first + at, (name, fields)) for at, name in enumerate(names))
    return table
