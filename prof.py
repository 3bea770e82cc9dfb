import cProfile,pstats,genperf as gp
f=lambda: gp.fit('/tmp/c3/nodes5000.csv',time='s',extrinsic=['workers','nodes'],group='net',model='ernest')
import time
t=time.process_time(); f(); print('cpu',time.process_time()-t)
p=cProfile.Profile(); p.enable(); f(); p.disable()
pstats.Stats(p).sort_stats('tottime').print_stats(45)
